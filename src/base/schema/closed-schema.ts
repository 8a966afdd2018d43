/** Closes the objects of a JSON Schema: members that a schema does not name become errors. */

const WITHOUT_OTHERS = { additionalProperties: false }

/**
 * Returns a copy of a schema in which every object with named members is closed. Maps and objects without named members stay open.
 *
 * @param close returns the keywords that close an object with these members; default: no additional properties
 */
export function closedSchema(schema: object, close: (names: string[]) => object = () => WITHOUT_OTHERS): object {
  const copy = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      Array.isArray(value) || typeof value !== 'object' || value === null ? value : closedSchema(value, close),
    ]),
  )
  const isShape =
    [copy['type']].flat().includes('object') &&
    copy['properties'] !== undefined &&
    copy['additionalProperties'] === undefined
  return isShape ? { ...copy, ...close(Object.keys(copy['properties'] as object)) } : copy
}
