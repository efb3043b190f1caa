"""The scheduler's plugins, each in a module or folder of its upstream name; small ones are in `one_field`."""
