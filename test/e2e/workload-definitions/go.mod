module lodestone.dev/e2e/workload-definitions

go 1.25.0

require (
	github.com/kserve/kserve v0.15.2
	github.com/ray-project/kuberay/ray-operator v1.5.0
	sigs.k8s.io/lws v0.7.0
)
