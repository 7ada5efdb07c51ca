"""What comes along for a first try: a real broker, a made-up club, and everything at work on one machine."""
