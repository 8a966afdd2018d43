/** The rights of users for the kinds of Lodestone. They are added to the roles view, edit and admin of every cluster. */
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import type { K8sObject } from '../../api/meta.ts'
import { clusterRole } from '../../api/rbac.ts'
import { volumeManagers } from '../../api/volume-manager.ts'

const READ = ['get', 'list', 'watch']
const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection']

/** By built-in role. Each of these roles can also be bound directly. No role allows to write the status. */
const VERBS: Readonly<Record<string, readonly string[]>> = {
  view: READ,
  edit: [...READ, ...WRITE],
  admin: [...READ, ...WRITE],
}

/** The ClusterRoles for users. kube-controller-manager adds their rules to the built-in roles by the label. */
export function userRoles(): K8sObject[] {
  return Object.entries(VERBS).map(([role, verbs]) => {
    const { metadata, ...rest } = clusterRole(
      `lodestone-${role}`,
      [dataSourceClaims, volumeManagers].map(({ group, plural }) => ({
        apiGroups: [group],
        resources: [plural],
        verbs: [...verbs],
      })),
    )
    const labels = { [`rbac.authorization.k8s.io/aggregate-to-${role}`]: 'true' }
    return { ...rest, metadata: { ...metadata, labels } }
  })
}
