"""The web page: explore a game, fit a table of choices, watch Rock-Paper-Scissors. Needs the extra `levelkit[app]`.

`explore`, `fitting` and `watching` turn settings into plain data and know nothing of the web; `server` is the road
between them and a browser on the same machine; `pages` holds what the browser loads.
"""
