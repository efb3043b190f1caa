"""What the API server says of the values of objects: its validation on create, restated kind by kind."""
