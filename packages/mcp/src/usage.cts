// The text of `agent-relay-mcp --help`.

import { clisWith, listText } from '@agent-relay/sdk/internal/clis'

const names = clisWith('editor').map(({ name }) => name)
const editors = `${names.join(', ')}, auto (those that are found, the default) or all`
const hooked = listText(
  clisWith('hooks').map(({ title }) => title),
  'and',
)

/** Breaks the text into two lines, with the second one in the column of descriptions. */
function wrapped(text: string): string {
  return text.replace(/^(.{60,84}) /, `$1\n${' '.repeat(24)}`)
}

export const usage = `@agent-relay/mcp - the MCP server of Agent Relay: AI agents talk to each other

Usage:
  agent-relay-mcp <command> [options]

Commands:
  serve       Run the MCP server on stdin and stdout (editors and CLIs start this)
  install     Add the server to your editors and CLIs
  uninstall   Remove it from them; every other byte of their files stays
  hook        Hand waiting messages to an agent; its CLI runs this as a hook (see docs/contributing/add-a-cli.md)

Install options:
  -e, --editor <name>   Editor to configure: ${wrapped(editors)}
  -g, --global          Install globally, for the user (the default)
  --project             Install into the files of the project in this directory
  --workspace <key>     Bind the server to the workspace of this key, with the toolsets relay and workspace; the key itself is
                        not written
  --start               The server starts a daemon if none runs, without an HTTP port; it ends ten minutes after the last
                        session. A later install keeps --workspace and --start; uninstall takes them away
  --hooks               Hooks that hand over messages for all of ${hooked}; Codex then asks you to review
                        them. Without this flag you are asked, for all but Codex; where nobody can be asked none are added
  --no-hooks            No hooks
  --dry-run             Change nothing, show a diff
  --yes                 Ask nothing: add hooks, replace an entry named agent-relay that starts another program
  --json                The outcome for programs

Serve options:
  --start            Start a daemon where none runs; it ends ten minutes after the last session
  --tools <names>    Toolsets to offer, separated by commas (default: relay, or RELAY_TOOLS)
  --project <name>   The workspace (default: RELAY_PROJECT, .relay/config.json, else home)

Options:
  -h, --help         Show this help
  -v, --version      Print the version

Environment:
  RELAY_AGENT_NAME   The agent's name (default: made from the name of the editor or CLI)
  RELAY_SOCKET, RELAY_PROJECT, RELAY_AGENT_TOKEN, RELAY_AGENT_TYPE, RELAY_STRICT_AGENT_NAME, RELAY_TOOLS, RELAY_PUSH

Examples:
  agent-relay-mcp install                    # Auto-detect editor
  agent-relay-mcp install --editor claude    # Claude Code only
  agent-relay-mcp install --editor cursor    # Cursor only
  agent-relay-mcp serve                      # Run server (for editors)
  agent-relay-mcp serve --project frontend

In a checkout: ./agent-relay mcp, with the same commands and options
`
