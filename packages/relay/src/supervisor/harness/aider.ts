// Aider: a program without MCP.

import { type Harness, known } from './harness.ts'
import { typed } from './plain.ts'

export const aider: Harness = { ...typed(), ...known('aider'), install: 'python -m pip install aider-chat' }
