// The launcher's shell code that answers an MCP host if no daemon is running or our programs were removed: with the cause and the fix, and with one
// tool that returns the same text. So the host starts as fast as without Agent Relay. Then the pipe (pipe/pipe.cts) gives the same answers while it
// waits for a daemon.

import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import { noDaemonInstructions, noDaemonResults, notRunningText } from '@agent-relay/sdk/internal/no-daemon-answers'

/** A text as the inside of a JSON string, quoted for the shell. */
const jsonInside = (text: string) => shellQuote(JSON.stringify(text).slice(1, -1))
/** The answers by JSON-RPC method, with variables that the shell fills in. */
const results = noDaemonResults({ why: '$why', more: '$more', version: '$release', protocolVersion: '$version' })
const result = (method: keyof typeof results) =>
  `'"result":'${shellQuote(JSON.stringify(results[method])).replace(/\$(?:why|more|release|version)/g, `'$&'`)}`

/** Shell code that replaces the text of the answers by `why`, for the case that our programs cannot be started: then a daemon would not help. */
export const replacingReason = (why: string) => `why=${jsonInside(why)} more=`

/**
 * The shell function `stand_in` answers the host's requests. It succeeds when the host has its list of tools, and fails at the end of the input.
 * RELAY_STANDBY passes the host's `initialize` on to the pipe; it is empty if that request was not answered here.
 *
 * The shell does not parse JSON. It recognizes the form in which hosts write a request: no whitespace, the method before the params, and the id
 * before the params or at the end, where it cannot be confused with anything inside the params. At any other line the function fails, and RELAY_HEARD
 * passes the line on to the pipe. A tool call is passed on as well, if there is a pipe to start. If there is no pipe, the launcher ends: otherwise
 * the host would wait for an answer that never comes.
 */
export const standInCode = `why=${jsonInside(notRunningText)}
more=${jsonInside(noDaemonInstructions)}
stand_in() {
  while read -r line; do
    RELAY_HEARD="$line"
    case "$line" in '{"'*'}') ;; *) return 1 ;; esac
    id= method= rest=\${line#?}
    rest="\${rest%?},"
    while :; do
      case "$rest" in
      '"jsonrpc":"2.0",'*) ;;
      '"id":'*) id=\${rest#*:} id=\${id%%,*} ;;
      '"method":'*) method=\${rest#*:} method=\${method%%,*} ;;
      *) break ;;
      esac
      rest=\${rest#*,}
    done
    case "$line" in *'"id"'*) ;; *) continue ;; esac
    if [ -z "$id" ]; then
      id=\${rest##*',"id":'} id=\${id%,} id=\${id%',"jsonrpc":"2.0"'}
    fi
    case "$id" in
    '"'*'"') word=\${id#?} word=\${word%?} ;;
    *[!0-9]*) return 1 ;;
    *) word=$id ;;
    esac
    case "$word" in '' | *[!0-9A-Za-z_.:/-]*) return 1 ;; esac
    case "$method" in '"'*'"') ;; *) return 1 ;; esac
    answer='"error":{"code":-32601,"message":"Method not found"}'
    case "$method" in
    '"initialize"')
      version=\${rest#'"params":{"protocolVersion":"'} version=\${version%%'"'*}
      case "$version" in '' | *[!0-9-]*) return 1 ;; esac
      RELAY_STANDBY="$line"
      release=unknown
      while read -r key value; do
        case "$key" in '"version":') release=\${value#?} release=\${release%%'"'*} ;; esac
      done 2> /dev/null < "\${script%/*}/../package.json"
      case "$release" in '' | *[!0-9A-Za-z.+-]*) release=unknown ;; esac
      answer=${result('initialize')}
      ;;
    '"tools/list"') answer=${result('tools/list')} ;;
    '"tools/call"')
      [ -z "$more" ] || return 1
      answer='"result":{"content":[{"type":"text","text":"'$why'"}],"isError":true}'
      ;;
    '"prompts/list"') answer=${result('prompts/list')} ;;
    '"prompts/get"') answer=${result('prompts/get')} ;;
    '"ping"') answer=${result('ping')} ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,%s}\\n' "$id" "$answer"
    RELAY_HEARD=
    [ "$method" != '"tools/list"' ] || return 0
  done
  RELAY_HEARD=
  return 1
}
if [ "$1" = serve ]; then
  export RELAY_STANDBY= RELAY_HEARD=
  [ ! -f "$script" ] || [ -n "$RELAY_BASE_URL$RELAY_SOCKET" ] || [ "$2" = --start ] || has_daemon || stand_in
fi`
