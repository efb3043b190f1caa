"""How the API server validates the values of objects on create, restated kind by kind."""
