/** Software bills of materials in SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3), as JSON. */
import { createHash } from 'node:crypto'
import { compare } from './archive.ts'

export interface SbomPackage {
  name: string
  version: string
  /** An SPDX expression; another text becomes NOASSERTION. */
  license: string
  /** A package URL: https://github.com/package-url/purl-spec. */
  purl: string
  sha256?: string
  sha512?: string
}

export interface SbomSubject {
  /** What the document describes: a container image or a package. */
  name: string
  version: string
  purpose: 'CONTAINER' | 'APPLICATION'
  /** The time of the commit, in seconds since 1970: each build of a commit writes the same document. */
  timeSeconds: number
  /** Its SHA-256, if it is known before the document. */
  sha256?: string
}

/** One license, or several with operators. The list of identifiers has these characters only. */
const EXPRESSION = /^\(?[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*\)?$/

/** Returns the document. Packages that are there twice, in one version, are listed once. */
export function spdxOf(subject: SbomSubject, packages: readonly SbomPackage[]): Record<string, unknown> {
  const distinct = new Map(packages.map((one) => [one.purl, one]))
  const sorted = [...distinct.values()].sort((a, b) => compare(a.purl, b.purl))
  const title = `${subject.name}-${subject.version}`
  const content = createHash('sha256')
    .update(JSON.stringify([subject, sorted]))
    .digest('hex')
  const ids = sorted.map(({ purl }) => idOf(purl))
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: title,
    documentNamespace: `https://lodestone.dev/spdx/${title}-${content}`,
    creationInfo: {
      created: new Date(subject.timeSeconds * 1000).toISOString().replace('.000Z', 'Z'),
      creators: ['Organization: Lodestone', `Tool: lodestone-release-${subject.version}`],
    },
    documentDescribes: ['SPDXRef-Subject'],
    packages: [
      {
        ...{ SPDXID: 'SPDXRef-Subject', name: subject.name, versionInfo: subject.version },
        ...common('Apache-2.0'),
        primaryPackagePurpose: subject.purpose,
        ...(subject.sha256 && { checksums: [{ algorithm: 'SHA256', checksumValue: subject.sha256 }] }),
      },
      ...sorted.map((one, i) => ({
        ...{ SPDXID: ids[i], name: one.name, versionInfo: one.version },
        ...common(one.license),
        checksums: [
          ...(one.sha256 ? [{ algorithm: 'SHA256', checksumValue: one.sha256 }] : []),
          ...(one.sha512 ? [{ algorithm: 'SHA512', checksumValue: one.sha512 }] : []),
        ],
        externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: one.purl }],
      })),
    ],
    relationships: [
      relationship('SPDXRef-DOCUMENT', 'DESCRIBES', 'SPDXRef-Subject'),
      ...ids.map((id) => relationship('SPDXRef-Subject', 'CONTAINS', id)),
    ],
  }
}

function common(license: string) {
  return {
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: EXPRESSION.test(license) ? license : 'NOASSERTION',
    copyrightText: 'NOASSERTION',
  }
}

function relationship(from: string, type: string, to: string) {
  return { spdxElementId: from, relationshipType: type, relatedSpdxElement: to }
}

/** An identifier may have letters, digits, dots and hyphens only. */
function idOf(purl: string): string {
  const hash = createHash('sha256').update(purl).digest('hex').slice(0, 12)
  return `SPDXRef-${purl.replace(/^pkg:|[?].*$/g, '').replaceAll(/[^A-Za-z0-9.]+/g, '-')}-${hash}`
}
