// A process that does nothing but open a database of a former version, which brings it up to date. It says when it begins and when it is done.
import { writeSync } from 'node:fs'
import { Store } from '../../../packages/relay/dist/store/store.js'

writeSync(1, 'begins\n')
new Store(process.argv[2]).close()
writeSync(1, 'done\n')
