// What the launcher's shell says to a host while there is no daemon, or nothing of ours any more: it answers as a server without tools, so that the
// host starts as fast as without us and has no failure to show. After that the pipe stands by for a daemon (pipe/pipe.cts).

/**
 * Ends when the host has its list of tools, and fails at the end of its input. It has a prompt, because a server that offers nothing at all counts
 * as failed with Gemini CLI and Qwen Code. What the host has begun with goes on to the pipe in RELAY_STANDBY, which is empty where nothing was
 * answered here.
 *
 * A shell cannot read JSON. It knows the form that hosts write: no blanks, the method before the params, and the id before the params or at the end,
 * where nothing inside the params can be taken for it. At any other line it fails, and the line goes on to the pipe in RELAY_HEARD. Where there is
 * no pipe to start, the launcher ends: the host would wait for an answer that never comes.
 */
export const standIn = `stand_in() {
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
      server='"capabilities":{"tools":{"listChanged":true},"prompts":{}},"serverInfo":{"name":"agent-relay","version":"unknown"}'
      answer='"result":{"protocolVersion":"'$version'",'$server'}'
      ;;
    '"tools/list"') answer='"result":{"tools":[]}' ;;
    '"prompts/list"') answer='"result":{"prompts":[{"name":"relay_protocol","description":"Agent Relay does not run"}]}' ;;
    '"prompts/get"') answer='"result":{"messages":[{"role":"user","content":{"type":"text","text":"Relay daemon is not running. Start with: agent-relay daemon start"}}]}' ;;
    '"ping"') answer='"result":{}' ;;
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
