"""An observer of a repeated game: who plays what, how well can one tell, and how well did somebody tell?"""
