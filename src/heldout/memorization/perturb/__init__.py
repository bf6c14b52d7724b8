"""Ways to perturb a picture: each a function of pictures and a strength, 0 meaning untouched."""
