// The simulator: random histories from seeds, each checked against a model.

import { playSeeds } from './play.ts'

playSeeds()
