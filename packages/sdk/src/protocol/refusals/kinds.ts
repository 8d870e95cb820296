// The kinds of refusals: whether trying again can help, the HTTP status, and the exit code. A refusal that differs from its kind overrides these values.

export const usage = { retry: false, http: 400, exit: 2 }
export const absent = { retry: false, http: 404, exit: 1 }
export const clash = { retry: false, http: 409, exit: 1 }
export const denied = { retry: false, http: 403, exit: 77 }
export const unproven = { ...denied, http: 401 }
export const busy = { retry: true, http: 503, exit: 75 }
