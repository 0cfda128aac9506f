"""The engine: cells are run, in processes of this machine or on a cluster, and watched."""
