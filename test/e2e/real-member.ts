// Joins a control plane of its own to a hub as a member, as `karmadactl join` does it: Karmada puts objects there and reads their status.
import { readFile } from 'node:fs/promises'
import type { ControlPlane } from './control-plane.ts'

// The controllers of a hub whose members exist: those of the harness, and those that talk to members.
export const memberControllers =
  '--controllers=binding,bindingStatus,cluster,clusterStatus,clustertaintpolicy,execution,gracefulEviction,namespace,workStatus,workloadRebalancer'

const system = 'karmada-system'

// Returns once the hub has found the member ready.
export async function joinMember(hub: ControlPlane, name: string, member: ControlPlane): Promise<void> {
  await member.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: system } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'karmada', namespace: system } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'karmada' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name: 'karmada', namespace: system }],
    },
  ])
  const { stdout: token } = await member.kubectl(['create', 'token', 'karmada', '--namespace', system])
  const caBundle = await readFile(member.pki.caFile, 'utf8')
  await hub.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: system } },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: system },
      stringData: { token: token.trim(), caBundle },
    },
    {
      apiVersion: 'cluster.karmada.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name },
      spec: { syncMode: 'Push', apiEndpoint: member.server, secretRef: { name, namespace: system } },
    },
  ])
  await hub.clusterSettled(name)
}
