export const examples = []
