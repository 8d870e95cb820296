// The harness of any program without MCP: nothing is added to its arguments, messages are typed, and a quiet screen is the only sign of its state.

import { ctrlC, type Harness } from './harness.ts'

/** Returns the harness fields of programs that can only be typed into. `args`: the arguments that make the program a conversation. */
export function typedHarnessFields(args: readonly string[] = []): Omit<Harness, 'name' | 'program' | 'install'> {
  return {
    hasMcp: false,
    typing: { enterDelayMs: 100 },
    exitKeys: [ctrlC, ctrlC],
    toolPrefix: '',
    bringsOwnMcp: () => false,
    readScreenSign: () => undefined,
    launch: (context) => ({ args: [...args, ...context.args], env: {} }),
  }
}

/** The harness of a program that has no harness of its own; the user gives the command. */
export const plainHarness: Harness = { name: 'plain', program: undefined, install: '', ...typedHarnessFields() }
