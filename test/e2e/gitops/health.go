package main

import (
	"encoding/json"
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	luajson "layeh.com/gopher-json"
)

// What kstatus and the script of Argo CD say about live objects.
func healthOf(asked request) ([]answer, error) {
	answers := []answer{}
	for _, raw := range asked.Objects {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return nil, err
		}
		computed, err := status.Compute(object)
		if err != nil {
			return nil, err
		}
		found := answer{Object: nameOf(object), Kstatus: computed.Status.String(), Message: computed.Message}
		// Argo CD runs no script for an object that is being deleted (gitops-engine, pkg/health/health.go).
		if object.GetDeletionTimestamp() != nil {
			found.Health = "Progressing"
		} else if found.Health, err = runScript(asked.Script, raw); err != nil {
			return nil, err
		}
		answers = append(answers, found)
	}
	return answers, nil
}

// Runs a health script with the libraries that Argo CD opens (util/lua/lua.go).
func runScript(script string, raw json.RawMessage) (string, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	libraries := []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}}
	for _, library := range libraries {
		call := lua.P{Fn: state.NewFunction(library.open), NRet: 0, Protect: true}
		if err := state.CallByParam(call, lua.LString(library.name)); err != nil {
			return "", err
		}
	}
	var plain map[string]any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return "", err
	}
	state.SetGlobal("obj", luajson.DecodeValue(state, plain))
	if err := state.DoString(script); err != nil {
		return "", err
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", fmt.Errorf("the script returns no table")
	}
	return table.RawGetString("status").String(), nil
}
