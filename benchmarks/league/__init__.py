"""The league: the library as it comes against other libraries as they come, on tasks that nothing was chosen on."""
