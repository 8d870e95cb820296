// The prompts, one by one.

export { getProtocolPrompt, PROTOCOL_DOCUMENTATION, protocolPrompt } from './protocol.ts'
