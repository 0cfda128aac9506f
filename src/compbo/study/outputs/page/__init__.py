"""The page of a study: five questions answered, curves to filter, tables to sort, in one HTML file."""
