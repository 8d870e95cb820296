// The libraries that the built-in agent loop needs, loaded with the first run. scripts/join-libraries.mjs bundles the parts of them that are used
// into this one file: with all their dependencies the libraries would be a third of an installation, and take longer to load.

export { createAnthropic } from '@ai-sdk/anthropic'
export { createOpenAICompatible } from '@ai-sdk/openai-compatible'
export { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
export { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
export { jsonSchema, streamText, tool } from 'ai'
