package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// serveKeeper turns the test binary into a server of 2025-11-25 whose tools make a host keep data.
const serveKeeper = "INTEROP_SERVE_KEEPER"

// keeper is that server. It reads line by line, and writes from several goroutines.
type keeper struct {
	mu      sync.Mutex // guards the fields below
	out     io.Writer
	asked   map[string]json.RawMessage // the call of each question
	results map[string]int             // size of the result of each task
	last    int
}

// keeperTools are the tools of keeper. elicit asks and waits, early asks and answers without
// waiting, big answers with the given number of bytes, logs sends log messages before it answers,
// and job runs as a task.
const keeperTools = `{"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"elicit","inputSchema":{"type":"object"}},` +
	`{"name":"early","inputSchema":{"type":"object"}},{"name":"big","inputSchema":{"type":"object"}},{"name":"logs","inputSchema":{"type":"object"}},` +
	`{"name":"job","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`

func serveKeeping(in io.Reader, out io.Writer) error {
	k := &keeper{out: out, asked: map[string]json.RawMessage{}, results: map[string]int{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 32<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				TaskID    string
				Task      json.RawMessage
				Arguments struct{ Bytes, Count int }
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return err
		}
		in := m.Params.Arguments
		switch {
		case m.Method == "" && m.ID != nil:
			k.answered(string(m.ID))
		case m.ID == nil:
		case m.Method == "initialize":
			k.result(m.ID, `{"protocolVersion":"2025-11-25","serverInfo":{"name":"keeper","version":"1"},"capabilities":{"tools":{},"logging":{},`+
				`"tasks":{"requests":{"tools":{"call":{}}},"cancel":{}}}}`)
		case m.Method == "tools/list":
			k.result(m.ID, keeperTools)
		case m.Method == "tasks/get":
			k.result(m.ID, task(m.Params.TaskID, "completed"))
		case m.Method == "tasks/result":
			k.text(m.ID, k.results[m.Params.TaskID])
		case m.Method != "tools/call":
			k.result(m.ID, "{}")
		case m.Params.Name == "elicit":
			k.ask(m.ID)
		case m.Params.Name == "early":
			k.ask(nil)
			time.AfterFunc(200*time.Millisecond, func() { k.text(m.ID, in.Bytes) })
		case m.Params.Name == "logs":
			for range in.Count {
				k.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"` +
					strings.Repeat("x", in.Bytes) + `"}}`)
			}
			k.text(m.ID, 1)
		case m.Params.Task != nil:
			k.last++
			id := fmt.Sprint("task-", k.last)
			k.results[id] = in.Bytes
			k.result(m.ID, `{"task":`+task(id, "working")+`}`)
		default:
			k.text(m.ID, max(in.Bytes, 1))
		}
	}
	return lines.Err()
}

func task(id, status string) string {
	return fmt.Sprintf(
		`{"taskId":%q,"status":%q,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":600000,"pollInterval":100}`, id, status,
	)
}

func (k *keeper) write(line string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	fmt.Fprintln(k.out, line)
}

func (k *keeper) result(id json.RawMessage, result string) {
	k.write(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`)
}

func (k *keeper) text(id json.RawMessage, bytes int) {
	k.result(id, `{"content":[{"type":"text","text":"`+strings.Repeat("y", bytes)+`"}]}`)
}

// ask asks the user during a call. The call waits for the answer unless it is nil.
func (k *keeper) ask(call json.RawMessage) {
	k.last++
	id := fmt.Sprintf("%q", fmt.Sprint("q-", k.last))
	k.mu.Lock()
	k.asked[id] = call
	k.mu.Unlock()
	k.write(`{"jsonrpc":"2.0","id":` + id +
		`,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}`)
}

func (k *keeper) answered(id string) {
	k.mu.Lock()
	call := k.asked[id]
	delete(k.asked, id)
	k.mu.Unlock()
	if call != nil {
		k.result(call, `{"content":[{"type":"text","text":"accept ann"}]}`)
	}
}
