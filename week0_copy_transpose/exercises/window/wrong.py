WRONG = ()
