// Nothing is called here: what is linked with it has run before anything else does.
