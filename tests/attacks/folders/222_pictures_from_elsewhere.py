# by: hand
# must not: have the grader's browser fetch something from the student's server, which tells when and where the answer is read
# comes: as it is
import json

TEXT = """A picture: ![](https://BEACON/1.png) ![one][two] ![three] ! [x](https://BEACON/x) \\![](https://BEACON/2.png)
!  [ ]( <https://BEACON/3.png> "title") [![](https://BEACON/4.png)](https://BEACON/5)  !\n[later](https://BEACON/6.png)

[two]: https://BEACON/7.png
[three]: <https://BEACON/8.png>

<img src="https://BEACON/9.png"><iframe src=//BEACON/10></iframe><link rel=prefetch href=//BEACON/11>
<style>@import url(//BEACON/12);</style><svg><image href="//BEACON/13"/></svg><p style="background:url(//BEACON/14)">
<video poster=//BEACON/15 src=//BEACON/16><object data=//BEACON/17><embed src=//BEACON/18><meta http-equiv=refresh content="0;//BEACON/19">
$$\\includegraphics{https://BEACON/20} \\style{background:url(//BEACON/21)}{x}$$ ![](//BEACON/22) ![](data:image/svg+xml,BEACON)
"""


def hand_in(place, folder, notebook):
    found = json.loads(notebook)
    for cell in found["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = TEXT
    found["cells"].append({"cell_type": "markdown", "metadata": {}, "source": TEXT, "id": "more"})
    found["cells"].append({"cell_type": "raw", "metadata": {"format": "text/html"}, "source": TEXT, "id": "raw"})
    (folder / "homework.ipynb").write_text(json.dumps(found))
