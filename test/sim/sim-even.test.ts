// Half of the simulator's seeds; the other half is sim-odd.test.ts, so that two workers share them.

import { playSeeds } from './play.ts'

playSeeds(1)
