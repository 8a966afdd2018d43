import { expect, test } from 'vitest'
import { resourceWord } from '../../api/meta.ts'
import { pageRoles } from '../../app/roles/page-roles.ts'
import { SHIPPED_KINDS } from '../../core/workload-kinds/kinds.ts'
import { pageKinds } from './page-kinds.ts'

const [role] = pageRoles(SHIPPED_KINDS) as unknown as [
  { rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[] },
]
const granted = (verb: string) =>
  role.rules
    .filter(({ verbs }) => verbs.includes(verb))
    .flatMap(({ apiGroups: [group = ''], resources }) => resources.map((plural) => resourceWord({ group, plural })))
    .sort()

test('the account of the page may list and watch what the page caches, and list Events', () => {
  const cached = pageKinds(SHIPPED_KINDS)
    .map(({ type }) => resourceWord(type))
    .sort()
  expect(granted('list')).toEqual([...cached, 'events'].sort())
  expect(granted('watch')).toEqual(cached)
})

test('the account of the page may ask who its readers are, writes nothing else, and reads no Secrets', () => {
  expect(granted('create')).toEqual(['subjectaccessreviews.authorization.k8s.io', 'tokenreviews.authentication.k8s.io'])
  const verbs = new Set(role.rules.flatMap((rule) => rule.verbs))
  expect([...verbs].sort()).toEqual(['create', 'get', 'list', 'watch'])
  for (const kind of ['secrets', 'configmaps']) expect(granted('get')).not.toContain(kind)
})
