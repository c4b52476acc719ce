print("lanner")
