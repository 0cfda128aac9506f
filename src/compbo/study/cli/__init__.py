"""The commands of `compbo study`."""
