// The table of all environment variables of Agent Relay, from which docs/reference/settings.md is made. No other code reads these variables. The hooks of CLIs
// and the MCP stdio pipe load this file at every start, so it imports nothing.

export type Env = Record<string, string | undefined>

interface Setting {
  what: string
  /** What applies if the variable is not set, as a text for the documentation. */
  otherwise: string
  readBy: string
  /** Whether only our own programs set the variable, for each other, so that people have no use for it. */
  isInternal?: boolean
}

const table = {
  RELAY_DATA_DIR: {
    what: 'the data directory: databases, sockets, credentials and the log of a daemon',
    otherwise: '`agent-relay` in `$XDG_DATA_HOME` or `~/.local/share`; on macOS in `~/Library/Application Support`',
    readBy: 'all programs',
  },
  RELAY_PROJECT: {
    what: 'the workspace',
    otherwise: 'the one that the nearest `.relay/config.json` names, else `home`',
    readBy: 'commands, the MCP server, the SDK',
  },
  RELAY_SOCKET: {
    what: "the socket of a workspace's daemon, before any other way to find it",
    otherwise: 'the socket is found by data directory and workspace',
    readBy: 'commands, the MCP server, hooks, the SDK',
  },
  RELAY_BASE_URL: {
    what: 'the address of a daemon that is reached over HTTP',
    otherwise: 'the daemon is reached by its socket',
    readBy: 'the MCP server',
  },
  RELAY_AGENT_NAME: {
    what: 'the name of the agent',
    otherwise: 'the MCP server makes one from the program and the directory; a command acts as you',
    readBy: 'commands, the MCP server, hooks',
  },
  RELAY_AGENT_TYPE: { what: '`agent` or `human`', otherwise: '`agent`', readBy: 'the MCP server' },
  RELAY_AGENT_TOKEN: {
    what: 'the token that proves the name',
    otherwise: 'a name that no agent has yet is registered',
    readBy: 'commands, the MCP server, hooks',
  },
  RELAY_STRICT_AGENT_NAME: {
    what: '`1`: the model cannot take another name than RELAY_AGENT_NAME',
    otherwise: 'it can',
    readBy: 'the MCP server',
  },
  RELAY_WORKSPACE_KEY: {
    what: 'the key of the workspace',
    otherwise: 'over HTTP a token is needed; over the socket nothing',
    readBy: 'the MCP server, `agent-relay mcp start`',
  },
  RELAY_API_KEY: {
    what: 'another name of RELAY_WORKSPACE_KEY',
    otherwise: 'RELAY_WORKSPACE_KEY counts',
    readBy: 'the MCP server',
  },
  RELAY_TOOLS: {
    what: 'the toolsets that are offered, separated by commas',
    otherwise: '`relay`',
    readBy: 'the MCP server',
  },
  RELAY_PUSH: {
    what: '`channel`: messages are pushed into a session of Claude Code that was started with our channel',
    otherwise: 'they are not',
    readBy: 'the MCP server',
  },
  RELAY_PORT: {
    what: "the daemon's HTTP port",
    otherwise: '8101, or the next that is free',
    readBy: '`up`, `daemon start`, `daemon install-service`',
  },
  RELAY_PATIENCE: {
    what: 'how many times longer our programs wait for each other on a slow machine, 1 to 100',
    otherwise: '1',
    readBy: 'all programs',
  },
  RELAY_WATCH_SESSIONS: {
    what: '`off`: sessions of Claude Code and Codex that people start are not agents by themselves',
    otherwise: 'they are, on Linux',
    readBy: 'the daemon',
  },
  RELAY_METRICS_EXPORT: {
    what: '`otlp`: metrics go to a collector of OpenTelemetry, at the address in the `OTEL_EXPORTER_OTLP_` variables, else at port 4318 of this machine',
    otherwise: 'they go nowhere; `/metrics` answers',
    readBy: 'the daemon',
  },
  RELAY_LLM_PROVIDER: {
    what: 'who runs the model of a loop: `anthropic` or `openai-compatible`',
    otherwise: '`llm` in `.relay/config.json`, once it is trusted',
    readBy: 'runs of the harness `loop`',
  },
  RELAY_LLM_BASE_URL: {
    what: 'the address of the server that runs the model of a loop',
    otherwise: 'that of the provider',
    readBy: 'runs of the harness `loop`',
  },
  RELAY_LLM_API_KEY: {
    what: 'the API key for the model of a loop',
    otherwise: '`llm` in `.relay/config.json`; a server of your own needs none',
    readBy: 'runs of the harness `loop`',
  },
  RELAY_MODEL: {
    what: 'the model of a loop',
    otherwise: '`llm` in `.relay/config.json`',
    readBy: 'runs of the harness `loop`',
  },
  RELAY_WORKER: {
    what: 'marks all processes that a worker has started, so that they can be ended with it',
    otherwise: 'the program is nobody’s worker',
    readBy: 'the daemon, hooks, `agent-relay merge`',
    isInternal: true,
  },
  RELAY_HOST: {
    what: 'the process id of the CLI that runs the hook',
    otherwise: 'the parent process',
    readBy: 'hooks',
    isInternal: true,
  },
  RELAY_NOTES: {
    what: 'the folder for reports of hooks that no daemon has received',
    otherwise: '`hooks/spool` in the data directory',
    readBy: 'hooks',
    isInternal: true,
  },
  RELAY_STANDBY: {
    what: 'the `initialize` request of the editor, which the launcher has answered because no daemon ran',
    otherwise: 'a daemon runs',
    readBy: 'the MCP server',
    isInternal: true,
  },
  RELAY_HEARD: {
    what: 'the first line of input from the editor that the launcher has read and not answered',
    otherwise: 'the launcher has read no such line',
    readBy: 'the MCP server',
    isInternal: true,
  },
  RELAY_LIFT_COMMAND: {
    what: 'the script by which a person started `lift`',
    otherwise: '`agent-relay lift`',
    readBy: '`agent-relay lift`',
    isInternal: true,
  },
} satisfies Record<string, Setting>

export type SettingName = keyof typeof table
export const settings: Readonly<Record<SettingName, Setting>> = table

/** The type of an environment variable's name. A name that begins with `RELAY_` must be in the settings table. */
type VariableName<Name extends string> = Name extends `RELAY_${string}` ? SettingName : Name

/** Reads an environment variable. A value such as `${RELAY_PROJECT}` counts as "not set": some CLIs pass that text on if the variable is not set. */
export function setting<Name extends string>(env: Env, name: VariableName<Name> & Name): string | undefined {
  const value = env[name]?.trim()
  return value === undefined || value === '' || /^\$(\{|RELAY_)/.test(value) ? undefined : value
}

/** Returns the value of a variable exactly as it was set. */
export function rawSetting(env: Env, name: SettingName): string | undefined {
  return env[name]
}
