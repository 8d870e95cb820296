// Routes, the ways in which a message is shown to its reader: their names, what each kind of route means, and how soon an agent can be reached.

/**
 * All routes. Inside the answer to a call: of a model's `tool`, of a program (`take`, `deliver`), or as the reply that a call waits for (`wait`). Outside of
 * answers: see `routesOutsideTools`. `hint`: the agent was only told that there is a message.
 */
export const routes = [
  ...(['tool', 'take', 'deliver', 'wait', 'hint'] as const),
  ...(['hook', 'rewake', 'app-server', 'http', 'acp', 'paste', 'push', 'peer'] as const),
] as const
export type Route = (typeof routes)[number]
/** Routes after which the agent's other sessions do not get the message for a while. */
export const heldRoutes: readonly Route[] = ['tool', 'take', 'deliver', 'wait']
/** Routes of a hook or plugin inside the agent's CLI, which acts for the agent: such a call is no sign that the model itself is at work. */
export const hostRoutes = ['hook', 'rewake', 'http'] as const satisfies readonly Route[]
/**
 * Routes that show the agent a message outside of any answer to a call: by its CLI's hook, by waking its session, by an interface of its CLI (`peer`: the one
 * over which sessions of Claude Code write to each other), or by typing.
 */
export const routesOutsideTools: readonly Route[] = [...hostRoutes, 'app-server', 'acp', 'paste', 'push', 'peer']

/**
 * How soon a connected agent sees a message: at once, because the message wakes it; at its next turn; at its next call; or not until its program accepts
 * messages again.
 */
export const reaches = ['wakes', 'at next turn', 'at next call', 'not now'] as const
export type ReachName = (typeof reaches)[number]
