// What the launcher's shell does for a hook: it runs at every turn of somebody's session, so it must cost nothing and say nothing, and no Node may
// start for it where there is nobody to ask. Here is also the waiter that stands beside an idle session. What a hook says is in hook.cts.

/** How often a waiter looks whether its session is still there, in seconds. */
const tickSeconds = 5
/**
 * A waiter keeps still while its session is in a turn, whose end brings the next waiter. A turn that the person breaks off or the model fails
 * has no end: after this many ticks the mail is handed over anyway. The host holds it until its next request, or until its dialog is over.
 */
const busyTicks = 12

/**
 * `hooks/daemon` in the data directory holds the process id of its daemon. It is a hint: a stale one costs the start of a Node, a missing one
 * costs the hook. `hooks/quiet.HOST` says that nothing waits for the agents of this program: no Node is started then, except where a session
 * begins, which is also shown what an earlier one has seen. A worker has hooks of its own, which say so in their last word: those in its user's
 * files are silent there, except before an edit where the worker's CLI is not Claude Code. `hooks/brief.HOST` says that a brief is still to be
 * given, and after what (hook.cts). `hooks/claims.WORKSPACE` is there while edits have to be asked about, also after its daemon was killed: then
 * the hook leaves a note.
 *
 * `hooks/door.HOST` says that the daemon itself reaches this session, by the session's own socket: no waiter is left there, and one that stands ends.
 *
 * A waiter (Claude Code's asyncRewake, or started by opencode's plugin) reads from the fifo `hooks/HOST.PID`: the daemon writes `mail` there, the
 * hook of a prompt `busy`, the next waiter `end`. It needs a shell whose `read` takes a time limit, else bash; without one it is a Node. In a
 * session that nobody attends, such as `claude -p`, there is none, since the host waits for it to end. In an attended one, the waiter hands over
 * what came during the turn. A worker has a terminal of ours, so it is attended unless its CLI says otherwise.
 */
export const hookGuard = `data="\${0%/bin/*}"
case "$RELAY_DATA_DIR" in /*) data="$RELAY_DATA_DIR" ;; esac
has_daemon() {
  daemon=
  { read -r daemon < "$data/hooks/daemon"; } 2> /dev/null
  [ -S "$RELAY_SOCKET" ] || { [ -n "$daemon" ] && kill -0 "$daemon" 2> /dev/null; }
}
has_door() { [ -e "$data/hooks/door.$PPID" ] && has_daemon; }
if [ "$1" = hook ]; then
  [ -f "$script" ] || exit 0
  edits=
  case "$2" in PreToolUse | BeforeTool | preToolUse | tool) edits=1 ;; esac
  attended="$CLAUDE_CODE_SESSION_ATTENDED"
  if [ -n "$RELAY_WORKER" ]; then
    case "$* $edits" in
    *' --worker '*) attended="\${attended:-1}" ;;
    *' --cli claude 1' | *' ') exit 0 ;;
    esac
  fi
  if [ -n "$edits" ]; then
    for need in "$data/hooks/claims."*; do break; done
    [ -e "$need" ] || exit 0
    export RELAY_HOST="\${RELAY_HOST:-$PPID}" RELAY_NOTES="$data/hooks/spool"
    if [ -x "$node" ]; then exec "$node" "$script" "$@"; fi
  fi
  beside="$data/hooks/$PPID"
  brief="$data/hooks/brief.$PPID"
  # Fails where there is no waiter. One that goes at this moment leaves no fifo, and the shell makes a file instead, which must not stay.
  tell() {
    told=1
    for fifo in "$beside".*; do
      [ -p "$fifo" ] && echo "$1" 1<> "$fifo" || continue
      if [ -p "$fifo" ]; then told=0; else rm -f "$fifo"; fi
    done 2> /dev/null
    return $told
  }
  # Not where the hook may speak for somebody else than the programs that the daemon knows.
  is_quiet() {
    [ -e "$data/hooks/quiet.$PPID" ] && [ ! -e "$brief" ] || return 1
    [ -n "$RELAY_WORKER" ] || [ -z "$RELAY_SOCKET$RELAY_BASE_URL$RELAY_AGENT_TOKEN" ]
  }
  # How often a session of Gemini CLI went on with another history than it had: then it begins its record again.
  cuts() { grep -c '^{"$set":{"sessionId":' "$1" || [ $? = 1 ]; }
  turn="$data/hooks/turn.$PPID"
  # Whether this shell can wait with a time limit.
  is_patient() {
    (read -t 1 line) < /dev/null 2> /dev/null
    [ $? -le 1 ]
  }
  case "$4 $2 $attended" in
  'claude Stop 1') exit 0 ;;
  'claude UserPromptSubmit 1')
    # The waiter that stands beside the session, or has just woken it, has handed over whatever there was.
    if [ -e "$beside.woken" ]; then rm -f "$beside.woken"; tell busy; exit 0; fi
    # So has the daemon where it reaches the session itself. A brief that could not be given when the session began goes with the prompt.
    if { tell busy || has_door; } && [ ! -e "$brief" ]; then exit 0; fi
    ;;
  'claude wait 1' | 'opencode wait '*)
    [ -d "$data/hooks" ] || exit 0
    if has_door; then exit 0; fi
    busy=0
    case "$5" in
    SessionStart)
      # A compaction comes in the middle of a turn, or there is a waiter already.
      read -r line
      case "$line" in *'"source":"compact"'*) exit 0 ;; esac
      ;;
    UserPromptSubmit)
      # Only where none stands: the last one has woken the session, and the turn that begins may have no end to bring the next.
      for fifo in "$beside".*; do
        if kill -0 "\${fifo##*.}"; then exit 0; fi
      done 2> /dev/null
      busy=${busyTicks} since=$(date +%s)
      ;;
    esac
    # What opencode's plugin says here is for the hook that it is told by.
    [ "$4" = opencode ] || exec < /dev/null
    if ! is_patient && [ -z "$BASH_VERSION" ] && command -v bash > /dev/null; then exec bash "$0" "$@"; fi
    export RELAY_HOST="$PPID"
    if is_patient; then
      # The hook of the same prompt has to see by whom the session was woken.
      if [ $busy = 0 ]; then tell end; rm -f "$beside".*; fi
      own="$beside.$$"
      umask 077
      mkfifo "$own" 2> /dev/null && exec 3<> "$own" || exit 0
      trap 'rm -f "$own"; exit 0' HUP INT TERM
      mail=1
      if is_quiet; then mail=; fi
      while :; do
        if [ -n "$mail" ] && [ $busy = 0 ] && has_daemon; then
          mail=
          "$0" hook rewake --cli "$4" \${RELAY_WORKER:+--worker} 3<&-
          case "$? $4" in
          '2 claude') mv -f "$own" "$beside.woken"; exit 2 ;;
          '2 '*) rm -f "$own"; exit 0 ;;
          esac
        fi
        line=
        if read -t ${tickSeconds} line <&3; then
          # Of a line that came as the last tick ended, only the rest is left: its last letter tells.
          case "$line" in
          *d) rm -f "$own"; exit 0 ;;
          *y) busy=${busyTicks} since=$(date +%s) ;;
          *)
            mail=1
            # Where so much comes that no tick ever ends, the clock tells.
            if [ $busy != 0 ] && [ $(($(date +%s) - since)) -ge ${busyTicks * tickSeconds} ]; then busy=0; fi
            ;;
          esac
        elif kill -0 "$PPID" 2> /dev/null && [ -p "$own" ] && ! has_door; then
          [ $busy = 0 ] || busy=$((busy - 1))
        else
          rm -f "$own"
          kill -0 "$PPID" 2> /dev/null || rm -f "$brief"
          exit 0
        fi
      done
    fi
    # A Node would not keep still during the turn.
    if [ $busy != 0 ]; then exit 0; fi
    ;;
  'gemini PreCompress '*)
    # It runs before every turn, compaction or not. The person's own says so; of the others the session's record tells afterwards.
    has_daemon || exit 0
    read -r line
    record=\${line#*'"transcript_path":"'} record=\${record%%'"'*}
    case "$line$record" in
    *'"trigger":"manual"'*) echo compact > "$brief" ;;
    *\\\\*) ;;
    *) cuts=$(cuts "$record") && echo "$cuts $record" > "$turn" ;;
    esac 2> /dev/null
    exit 0
    ;;
  'gemini BeforeAgent '*)
    if has_daemon && read -r cuts record < "$turn" && [ "$(cuts "$record")" -gt "$cuts" ]; then echo compact > "$brief"; fi 2> /dev/null
    ;;
  # A session that nobody attends has no dialog, and is not held up.
  'claude PermissionRequest 1') ;;
  'claude PermissionRequest '*) exit 0 ;;
  'claude SessionStart 1') ;;
  # It begins before its server is known, which a token alone can make up for; its one prompt has nothing more than its start.
  'claude SessionStart '*) [ -n "$RELAY_AGENT_TOKEN" ] || exit 0 ;;
  'claude UserPromptSubmit '* | 'claude wait '*) exit 0 ;;
  esac
  case "$2" in
  UserPromptSubmit | PostToolUse | Stop | BeforeAgent | AfterAgent | userPromptSubmitted | agentStop)
    if is_quiet; then exit 0; fi
    ;;
  esac
  has_daemon || exit 0
  export RELAY_HOST="\${RELAY_HOST:-$PPID}"
fi`
