/@javax.annotation.Generated/d
s/List<[A-Za-z]+>\.class/List.class/g
s/getList<[A-Za-z]+>\(\)/getList()/
s/instanceof List<[A-Za-z]+>/instanceof List/
s/valueOf\(getActualInstance\(\)\.get/valueOf(((List<?>) getActualInstance()).get/
s/throw new JsonMappingException\(ctxt.getParser\(\), .* cannot be null"\)/return null/
s/if \(match == 1\)/if (match > 0)/
