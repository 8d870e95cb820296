// Routes, the ways in which a message is put before its reader: their names, what each kind of route means, and how an agent can be reached.

/**
 * All routes. In an answer: of a `tool`, to a program (`take`, `deliver`), or as the reply to a `wait`. Outside of any answer: see `routesOutsideTools`. A `hint`
 * only told the agent that there is a message.
 */
export const routes = [
  ...(['tool', 'take', 'deliver', 'wait', 'hint'] as const),
  ...(['hook', 'rewake', 'app-server', 'http', 'acp', 'paste', 'push', 'peer'] as const),
] as const
export type Route = (typeof routes)[number]
/** Routes that hide a message from the agent's other sessions for a while. */
export const heldRoutes: readonly Route[] = ['tool', 'take', 'deliver', 'wait']
/** Routes of a hook or plugin that runs inside the agent's CLI: the hook speaks for the agent, but the agent itself has not made a call. */
export const hostRoutes = ['hook', 'rewake', 'http'] as const satisfies readonly Route[]
/**
 * Routes that put a message before the agent outside of any answer: by its CLI's hook, by waking its session, by an interface of its CLI (`peer`: as Claude
 * Code's sessions write to each other), or by keystrokes.
 */
export const routesOutsideTools: readonly Route[] = [...hostRoutes, 'app-server', 'acp', 'paste', 'push', 'peer']

/** How soon a connected agent sees a message: the message wakes it, or waits for its next turn, for its next call, or until it can be reached at all. */
export const reaches = ['wakes', 'at next turn', 'at next call', 'not now'] as const
export type ReachName = (typeof reaches)[number]
