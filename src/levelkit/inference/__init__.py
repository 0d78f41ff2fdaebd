"""From counts to estimates: likelihoods, surfaces, optima, statuses and intervals."""
