/** The page docs/reference/api.md: the fields of our resources, from the schemas of their CRDs. */
import { customResourceDefinitions } from '../../api/crds.ts'
import { GENERATED, listItem, markdownTable } from './markdown.ts'

/** A field in a JSON Schema. */
export interface Field {
  type?: string
  format?: string
  description?: string
  enum?: readonly unknown[]
  default?: unknown
  minimum?: number
  maximum?: number
  maxLength?: number
  maxItems?: number
  maxProperties?: number
  required?: readonly string[]
  properties?: Readonly<Record<string, Field>>
  items?: Field
}

interface Crd {
  spec: {
    group: string
    scope: string
    names: { kind: string; plural: string; shortNames?: readonly string[] }
    versions: readonly {
      name: string
      schema: { openAPIV3Schema: Field }
      additionalPrinterColumns?: readonly { name: string; description?: string }[]
    }[]
  }
}

/** Fields whose content is that of Kubernetes. */
const OF_KUBERNETES: readonly string[] = ['nodeAffinity', 'conditions', 'tolerations', 'resources']

/** Returns the text of docs/reference/api.md. */
export function apiPage(): string {
  const crds = customResourceDefinitions() as unknown as Crd[]
  return `# API

${GENERATED}

This page lists the fields of the resources that Lodestone serves. [Claims](../concepts/claims.md), [data systems](../guides/data-systems.md) and
[volumes](../concepts/volumes.md) explain them, \`kubectl explain\` prints them. [Versioning](versioning.md) tells what may change.

${crds.map(section).join('\n\n')}
`
}

function section({ spec: { group, scope, names, versions } }: Crd): string {
  const [version] = versions
  if (version === undefined) throw new Error(`${names.kind} has no version`)
  const { name, schema, additionalPrinterColumns: columns = [] } = version
  const { spec, status } = schema.openAPIV3Schema.properties ?? {}
  return `## ${names.kind}

${schema.openAPIV3Schema.description ?? ''}

${markdownTable(
  ['API version', 'Scope', 'Names for kubectl'],
  [[`\`${group}/${name}\``, scope, [names.plural, ...(names.shortNames ?? [])].map((one) => `\`${one}\``).join(', ')]],
)}

### Spec of a ${names.kind}

${fieldList('spec', spec)}

### Status of a ${names.kind}

${fieldList('status', status)}

### Columns of a ${names.kind}

${markdownTable(
  ['Column', 'Content'],
  columns.map((column) => [`\`${column.name.toUpperCase()}\``, column.description ?? '']),
)}`
}

/** The fields below a field, with their whole paths. */
function fieldList(path: string, field: Field = {}): string {
  return fieldLines(path, field).map(listItem).join('\n')
}

/** Returns a line for each field below a field: its path, type, default, bounds and meaning. */
export function fieldLines(path: string, field: Field): string[] {
  const { properties = {}, required = [] } = field
  return Object.entries(properties).flatMap(([name, own]) => {
    const ownPath = `${path === '' ? '' : `${path}.`}${name}${own.type === 'array' ? '[]' : ''}`
    const inner = OF_KUBERNETES.includes(name) ? [] : fieldLines(ownPath, own.items ?? own)
    return [fieldLine(ownPath, own, required.includes(name)), ...inner]
  })
}

/** Returns a line about a field: its path, type, default, bounds and meaning. */
export function fieldLine(path: string, field: Field, isRequired = false): string {
  return `\`${path}\` (${traits(field, isRequired).join(', ')}). ${field.description ?? ''}`
}

function traits({ type, format, items, maxItems, maxProperties, maxLength, ...field }: Field, isRequired: boolean) {
  const bounds = [
    field.minimum !== undefined && `at least ${field.minimum}`,
    field.maximum !== undefined && `at most ${field.maximum}`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    maxItems !== undefined && `at most ${maxItems} items`,
    maxProperties !== undefined && `at most ${maxProperties} keys`,
  ]
  const values = field.enum ?? items?.enum
  return [
    type === 'array' ? `list of ${items?.type ?? 'any'}` : (format ?? type ?? (values === undefined && 'any')),
    isRequired && 'required',
    values?.map((value) => `\`${value}\``).join(' or ') ?? false,
    field.default !== undefined && `default \`${JSON.stringify(field.default)}\``,
    ...bounds,
  ].filter((trait) => trait !== false)
}
