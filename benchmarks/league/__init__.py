"""The league: the library as it comes against other libraries as they come."""
