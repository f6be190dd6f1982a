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
// Reserved (`Owed`) messages are always accepted. BestEffort (`Sheddable`) ones are refused once
// the mailbox is half full.
var classes = map[string]struct {
	msg  any
	want otp.Class
}{
	"capability.Changed":     {capability.Changed{}, otp.Ordinary},
	"capability.Declared":    {&capability.Declared{}, otp.Ordinary},
	"capability.Discover":    {&capability.Discover{}, otp.Ordinary},
	"capability.Experiments": {&capability.Experiments{}, otp.Ordinary},
	"capability.Notify":      {&capability.Notify{}, otp.Ordinary},
	"capability.Query":       {&capability.Query{}, otp.Ordinary},
	"capability.Register":    {&capability.Register{}, otp.Ordinary},
	"capability.Subscribe":   {&capability.Subscribe{}, otp.Ordinary},
	"catalog.Connect":        {&catalog.Connect{}, otp.Ordinary},
	"catalog.Introduced":     {catalog.Introduced{}, otp.Owed},
	"catalog.Look":           {&catalog.Look{}, otp.Ordinary},
	"catalog.Reload":         {&catalog.Reload{}, otp.Owed},
	"catalog.Operate":        {&catalog.Operate{}, otp.Owed},
	"catalog.Servers":        {&catalog.Servers{}, otp.Ordinary},
	"client.Answer":          {&client.Answer{}, otp.Owed},
	"client.Another":         {&client.Another{}, otp.Ordinary},
	"client.Attach":          {&client.Attach{}, otp.Owed},
	"client.Completed":       {&client.Completed{}, otp.Sheddable},
	"client.TaskStatus":      {&client.TaskStatus{}, otp.Sheddable},
	"client.Describe":        {client.Describe{}, otp.Owed},
	"client.Detach":          {client.Detach{}, otp.Owed},
	"client.Forgotten":       {client.Forgotten{}, otp.Owed},
	"client.Left":            {&client.Left{}, otp.Owed},
	"client.Check":           {client.Check{}, otp.Owed},
	"client.Pause":           {client.Pause{}, otp.Owed},
	"client.Redial":          {client.Redial{}, otp.Owed},
	"client.Question":        {&client.Question{}, otp.Ordinary},
	"client.Release":         {client.Release{}, otp.Owed},
	"client.Report":          {&client.Report{}, otp.Owed},
	"client.Retire":          {client.Retire{}, otp.Owed},
	"client.Stop":            {client.Stop{}, otp.Owed},
	"client.Restart":         {client.Restart{}, otp.Owed},
	"client.Tell":            {&client.Tell{}, otp.Sheddable},
	"client.Unused":          {&client.Unused{}, otp.Owed},
	"client.Want":            {&client.Want{}, otp.Owed},
	"client.Withdrawn":       {&client.Withdrawn{}, otp.Owed},
	"configuration.Reload":   {&configuration.Reload{}, otp.Ordinary},
	"drops.Due":              {drops.Due{}, otp.Ordinary},
	"held.Gone":              {&held.Gone{}, otp.Owed},
	"held.Retry":             {&held.Retry{}, otp.Ordinary},
	"notification.Dispatch":  {&notification.Dispatch{}, otp.Sheddable},
	"notification.Away":      {&notification.Away{}, otp.Owed},
	"notification.Heard":     {&notification.Heard{}, otp.Ordinary},
	"notification.Forget":    {&notification.Forget{}, otp.Owed},
	"notification.Notice":    {&notification.Notice{}, otp.Sheddable},
	"notification.Register":  {&notification.Register{}, otp.Owed},
	"notification.Stats":     {&notification.Stats{}, otp.Ordinary},
	"process.List":           {&process.List{}, otp.Ordinary},
	"process.Release":        {&process.Release{}, otp.Owed},
	"process.Start":          {&process.Start{}, otp.Ordinary},
	"request.Cancel":         {&request.Cancel{}, otp.Owed},
	"request.CancelOwner":    {&request.CancelOwner{}, otp.Owed},
	"request.Done":           {request.Done{}, otp.Owed},
	"request.Forward":        {&request.Forward{}, otp.Ordinary},
	"request.Park":           {&request.Park{}, otp.Ordinary},
	"request.Pending":        {&request.Pending{}, otp.Ordinary},
	"request.Stop":           {&request.Stop{}, otp.Owed},
	"request.Submit":         {&request.Submit{}, otp.Ordinary},
	"request.Unpark":         {&request.Unpark{}, otp.Owed},
	"request.Withdraw":       {&request.Withdraw{}, otp.Owed},
	"session.Abandoned":      {&session.Abandoned{}, otp.Owed},
	"session.Attach":         {&session.Attach{}, otp.Ordinary},
	"session.Back":           {session.Back{}, otp.Owed},
	"session.Close":          {&session.Close{}, otp.Ordinary},
	"session.Deliver":        {&session.Deliver{}, otp.Ordinary},
	"session.Expired":        {&session.Expired{}, otp.Owed},
	"session.HangUp":         {session.HangUp{}, otp.Owed},
	"session.Open":           {&session.Open{}, otp.Ordinary},
	"session.Reconfigured":   {session.Reconfigured{}, otp.Owed},
	"session.Reload":         {&session.Reload{}, otp.Owed},
	"session.Stop":           {session.Stop{}, otp.Owed},
	"session.Sweep":          {&session.Sweep{}, otp.Ordinary},
	"session.Wake":           {&session.Wake{}, otp.Owed},
	"session.Undelivered":    {&session.Undelivered{}, otp.Owed},
	"storage.Collect":        {storage.Collect{}, otp.Owed},
	"storage.Keep":           {&storage.Keep{}, otp.Owed},
	"storage.Put":            {&storage.Put{}, otp.Owed},
	"tenancy.Charged":        {tenancy.Charged{}, otp.Sheddable},
	"tenancy.Operate":        {&tenancy.Operate{}, otp.Ordinary},
	"tenancy.Reconfigured":   {tenancy.Reconfigured{}, otp.Owed},
	"tenancy.Started":        {tenancy.Started{}, otp.Owed},
	"task.Changed":           {&task.Changed{}, otp.Sheddable},
	"task.Drop":              {task.Drop{}, otp.Owed},
	"task.Watch":             {task.Watch{}, otp.Ordinary},
	"version.Features":       {&version.Features{}, otp.Ordinary},
	"version.Negotiate":      {&version.Negotiate{}, otp.Ordinary},
	"version.Negotiated":     {&version.Negotiated{}, otp.Ordinary},
	"version.Supported":      {&version.Supported{}, otp.Ordinary},
	"version.Supports":       {&version.Supports{}, otp.Ordinary},
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
