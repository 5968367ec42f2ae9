"""Jobs that other services submit: their messages, and who sends them."""
