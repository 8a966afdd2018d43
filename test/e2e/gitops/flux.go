package main

import (
	"context"

	"github.com/fluxcd/pkg/ssa"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const fluxGroup = "kustomize.toolkit.fluxcd.io"

// As kustomize-controller sets them (internal/controller/kustomization_controller.go).
var (
	fluxExclusions   = map[string]string{fluxGroup + "/reconcile": "disabled", fluxGroup + "/ssa": "Ignore"}
	fluxIfNotPresent = map[string]string{fluxGroup + "/ssa": "IfNotPresent"}
)

type flux struct {
	manager *ssa.ResourceManager
}

func newFlux(api client.Client) tool {
	owner := ssa.Owner{Field: "kustomize-controller", Group: fluxGroup}
	return flux{manager: ssa.NewResourceManager(api, nil, owner)}
}

func (f flux) sync(ctx context.Context, objects []*unstructured.Unstructured) ([]answer, error) {
	f.manager.SetOwnerLabels(objects, "example", "flux-system")
	options := ssa.DefaultApplyOptions()
	options.ExclusionSelector = fluxExclusions
	options.IfNotPresentSelector = fluxIfNotPresent
	changes, err := f.manager.ApplyAll(ctx, objects, options)
	if err != nil {
		return nil, err
	}
	answers := []answer{}
	// ApplyAll sorts the objects, and its entries have their order.
	for i, entry := range changes.Entries {
		answers = append(answers, answer{Object: nameOf(objects[i]), Change: entry.Action.String()})
	}
	return answers, nil
}

func (f flux) diff(ctx context.Context, objects []*unstructured.Unstructured) ([]answer, error) {
	f.manager.SetOwnerLabels(objects, "example", "flux-system")
	options := ssa.DefaultDiffOptions()
	options.Exclusions = fluxExclusions
	options.IfNotPresentSelector = fluxIfNotPresent
	answers := []answer{}
	for _, object := range objects {
		found := answer{Object: nameOf(object)}
		entry, before, after, err := f.manager.Diff(ctx, object, options)
		if err != nil {
			found.Error = err.Error()
		} else {
			found.Change = entry.Action.String()
		}
		if before != nil && after != nil {
			if found.Differences, err = differences(compared(before), compared(after)); err != nil {
				return nil, err
			}
		}
		answers = append(answers, found)
	}
	return answers, nil
}

// The parts of an object that Flux compares.
func compared(object *unstructured.Unstructured) map[string]any {
	parts := map[string]any{}
	for key, value := range object.Object {
		if key != "metadata" && key != "status" {
			parts[key] = value
		}
	}
	parts["metadata"] = map[string]any{"labels": object.GetLabels(), "annotations": object.GetAnnotations()}
	return parts
}
