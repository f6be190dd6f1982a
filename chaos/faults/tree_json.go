package faults

import (
	"fmt"

	"github.com/go-json-experiment/json"
)

// node holds the fields of mcpd.v1.Node that faults need, as the admin listener writes them in
// JSON.
type node struct {
	Path        string `json:"path"`
	Type        string `json:"type"`
	Status      string `json:"status"`
	State       string `json:"state"`
	Link        string `json:"link"`
	Server      string `json:"server"`
	PID         int    `json:"pid"`
	Restarts    int    `json:"restarts"`
	Incarnation int    `json:"incarnation"`
	Mailbox     int    `json:"mailbox"`
	Children    []node `json:"children"`
}

// ParseTree reads the answer of /admin/v1/tree?all=1, which is also the output of mcpd tree --all
// --json.
func ParseTree(data []byte) (Tree, error) {
	var root node
	if err := json.Unmarshal(data, &root); err != nil {
		return nil, fmt.Errorf("no tree: %w", err)
	}
	if root.Path == "" {
		return nil, fmt.Errorf("no tree: its root has no path")
	}
	return appendRows(nil, root), nil
}

func appendRows(t Tree, n node) Tree {
	t = append(t, Row{
		n.Path, n.Type, n.Status, n.State, n.Link, n.Server, n.PID, n.Restarts, n.Incarnation, n.Mailbox,
	})
	for _, child := range n.Children {
		t = appendRows(t, child)
	}
	return t
}
