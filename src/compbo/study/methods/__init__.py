"""What suggests points: maximizers of compbo, baselines and peers, behind one interface."""
