package actors_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpd/actors/capability"
	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/configuration"
	"mcpd/actors/held"
	"mcpd/actors/internal/drops"
	"mcpd/actors/notification"
	"mcpd/actors/process"
	"mcpd/actors/request"
	"mcpd/actors/session"
	"mcpd/actors/storage"
	"mcpd/actors/task"
	"mcpd/actors/tenancy"
	"mcpd/actors/version"
	"mcpd/supervisor/otp"
)

// classes lists every message that actors send one another with its class, which says how full the
// receiving mailbox may be. Ordinary messages can be refused, and their senders handle that: a call
// returns the error, a request gets an error response.
//
// Reserved messages are always accepted. BestEffort ones are refused once
// the mailbox is half full.
var classes = map[string]struct {
	msg  any
	want otp.Class
}{
	"capability.Changed":           {capability.Changed{}, otp.Ordinary},
	"capability.Declared":          {&capability.Declared{}, otp.Ordinary},
	"capability.Discover":          {&capability.Discover{}, otp.Ordinary},
	"capability.Experiments":       {&capability.Experiments{}, otp.Ordinary},
	"capability.Notify":            {&capability.Notify{}, otp.Ordinary},
	"capability.Query":             {&capability.Query{}, otp.Ordinary},
	"capability.Register":          {&capability.Register{}, otp.Ordinary},
	"capability.Subscribe":         {&capability.Subscribe{}, otp.Ordinary},
	"catalog.Connect":              {&catalog.Connect{}, otp.Ordinary},
	"catalog.Assigned":             {catalog.Assigned{}, otp.Reserved},
	"catalog.Look":                 {&catalog.Look{}, otp.Ordinary},
	"catalog.Reload":               {&catalog.Reload{}, otp.Reserved},
	"catalog.Operate":              {&catalog.Operate{}, otp.Reserved},
	"catalog.Servers":              {&catalog.Servers{}, otp.Ordinary},
	"client.Answer":                {&client.Answer{}, otp.Reserved},
	"client.StartInstance":         {&client.StartInstance{}, otp.Ordinary},
	"client.Attach":                {&client.Attach{}, otp.Reserved},
	"client.ElicitationCompleted":  {&client.ElicitationCompleted{}, otp.BestEffort},
	"client.TaskStatus":            {&client.TaskStatus{}, otp.BestEffort},
	"client.Describe":              {client.Describe{}, otp.Reserved},
	"client.Detach":                {client.Detach{}, otp.Reserved},
	"client.UsersForgotten":        {client.UsersForgotten{}, otp.Reserved},
	"client.AbandonedState":        {&client.AbandonedState{}, otp.Reserved},
	"client.Check":                 {client.Check{}, otp.Reserved},
	"client.Pause":                 {client.Pause{}, otp.Reserved},
	"client.Redial":                {client.Redial{}, otp.Reserved},
	"client.Question":              {&client.Question{}, otp.Ordinary},
	"client.Release":               {client.Release{}, otp.Reserved},
	"client.Report":                {&client.Report{}, otp.Reserved},
	"client.Retire":                {client.Retire{}, otp.Reserved},
	"client.Stop":                  {client.Stop{}, otp.Reserved},
	"client.Restart":               {client.Restart{}, otp.Reserved},
	"client.ClientNotification":    {&client.ClientNotification{}, otp.BestEffort},
	"client.Unused":                {&client.Unused{}, otp.Reserved},
	"client.SetSubscriptionIntent": {&client.SetSubscriptionIntent{}, otp.Reserved},
	"client.Withdrawn":             {&client.Withdrawn{}, otp.Reserved},
	"configuration.Reload":         {&configuration.Reload{}, otp.Ordinary},
	"drops.Due":                    {drops.Due{}, otp.Ordinary},
	"held.Gone":                    {&held.Gone{}, otp.Reserved},
	"held.Retry":                   {&held.Retry{}, otp.Ordinary},
	"notification.Dispatch":        {&notification.Dispatch{}, otp.BestEffort},
	"notification.Away":            {&notification.Away{}, otp.Reserved},
	"notification.HasListeners":    {&notification.HasListeners{}, otp.Ordinary},
	"notification.Forget":          {&notification.Forget{}, otp.Reserved},
	"notification.Notice":          {&notification.Notice{}, otp.BestEffort},
	"notification.Register":        {&notification.Register{}, otp.Reserved},
	"notification.Stats":           {&notification.Stats{}, otp.Ordinary},
	"process.List":                 {&process.List{}, otp.Ordinary},
	"process.Release":              {&process.Release{}, otp.Reserved},
	"process.Start":                {&process.Start{}, otp.Ordinary},
	"request.Cancel":               {&request.Cancel{}, otp.Reserved},
	"request.CancelOwner":          {&request.CancelOwner{}, otp.Reserved},
	"request.Done":                 {request.Done{}, otp.Reserved},
	"request.Forward":              {&request.Forward{}, otp.Ordinary},
	"request.ExtendDeadline":       {&request.ExtendDeadline{}, otp.Ordinary},
	"request.Pending":              {&request.Pending{}, otp.Ordinary},
	"request.Stop":                 {&request.Stop{}, otp.Reserved},
	"request.Submit":               {&request.Submit{}, otp.Ordinary},
	"request.RestoreDeadline":      {&request.RestoreDeadline{}, otp.Reserved},
	"request.Withdraw":             {&request.Withdraw{}, otp.Reserved},
	"session.Abandoned":            {&session.Abandoned{}, otp.Reserved},
	"session.Attach":               {&session.Attach{}, otp.Ordinary},
	"session.ClientBack":           {session.ClientBack{}, otp.Reserved},
	"session.Close":                {&session.Close{}, otp.Ordinary},
	"session.Deliver":              {&session.Deliver{}, otp.Ordinary},
	"session.Expired":              {&session.Expired{}, otp.Reserved},
	"session.HangUp":               {session.HangUp{}, otp.Reserved},
	"session.Open":                 {&session.Open{}, otp.Ordinary},
	"session.Reconfigured":         {session.Reconfigured{}, otp.Reserved},
	"session.Reload":               {&session.Reload{}, otp.Reserved},
	"session.Stop":                 {session.Stop{}, otp.Reserved},
	"session.Sweep":                {&session.Sweep{}, otp.Ordinary},
	"session.Wake":                 {&session.Wake{}, otp.Reserved},
	"session.Undelivered":          {&session.Undelivered{}, otp.Reserved},
	"storage.Collect":              {storage.Collect{}, otp.Reserved},
	"storage.Keep":                 {&storage.Keep{}, otp.Reserved},
	"storage.Put":                  {&storage.Put{}, otp.Reserved},
	"tenancy.Charged":              {tenancy.Charged{}, otp.BestEffort},
	"tenancy.Operate":              {&tenancy.Operate{}, otp.Ordinary},
	"tenancy.Reconfigured":         {tenancy.Reconfigured{}, otp.Reserved},
	"tenancy.Started":              {tenancy.Started{}, otp.Reserved},
	"task.Changed":                 {&task.Changed{}, otp.BestEffort},
	"task.Drop":                    {task.Drop{}, otp.Reserved},
	"task.Watch":                   {task.Watch{}, otp.Ordinary},
	"version.Features":             {&version.Features{}, otp.Ordinary},
	"version.Negotiate":            {&version.Negotiate{}, otp.Ordinary},
	"version.Negotiated":           {&version.Negotiated{}, otp.Ordinary},
	"version.Supported":            {&version.Supported{}, otp.Ordinary},
	"version.Supports":             {&version.Supports{}, otp.Ordinary},
}

func TestEveryMessageHasTheClassMeant(t *testing.T) {
	for name, tt := range classes {
		got := otp.Ordinary
		if c, ok := tt.msg.(otp.Classed); ok {
			got = c.Class()
		}
		if got != tt.want {
			t.Errorf("%s is %s, want %s", name, got, tt.want)
		}
	}
	want, got := slices.Sorted(maps.Keys(classes)), received(t)
	for _, name := range got {
		if _, ok := slices.BinarySearch(want, name); !ok {
			t.Errorf("%s is received and not in the table", name)
		}
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s is in the table and nobody receives it", name)
		}
	}
}

// received lists the exported types that an actor's type switches over a message called msg handle:
// those are sent by other actors.
func received(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSwitchStmt); ok && subject(s) == "msg" {
				for _, c := range s.Body.List {
					for _, e := range c.(*ast.CaseClause).List {
						names = append(names, name(f.Name.Name, e))
					}
				}
			}
			return true
		})
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool {
		return n == "" || strings.HasPrefix(n, "otp.")
	})
}

// subject returns the variable of a type switch.
func subject(s *ast.TypeSwitchStmt) string {
	a, ok := s.Assign.(*ast.AssignStmt)
	if !ok {
		return ""
	}
	x, _ := a.Rhs[0].(*ast.TypeAssertExpr).X.(*ast.Ident)
	if x == nil {
		return ""
	}
	return x.Name
}

// name is the qualified name of an exported type; empty for any other.
func name(pkg string, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return name(pkg, e.X)
	case *ast.SelectorExpr:
		return e.X.(*ast.Ident).Name + "." + e.Sel.Name
	case *ast.Ident:
		if e.IsExported() {
			return pkg + "." + e.Name
		}
	}
	return ""
}
