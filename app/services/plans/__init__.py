"""Plans: what each allows, who has which, how much of it is used, and the codes that give one."""
