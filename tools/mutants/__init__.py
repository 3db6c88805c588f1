"""Mutation testing: is each small change of the code that decides verdicts and charges found out by a test?"""
