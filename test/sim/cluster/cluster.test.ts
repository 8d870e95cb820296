// Several daemons over one cluster: random histories from seeds, with lost answers, lost hints, cuts, sleeps and kills.

import { playClusterSeeds } from './cluster-play.ts'

playClusterSeeds()
