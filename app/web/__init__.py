"""What browsers and programs meet: pages, the HTTP API, and the guards before both."""
